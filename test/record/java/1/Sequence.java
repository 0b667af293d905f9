package recorder;

import com.dangdang.ddframe.job.api.JobExecutionSingleShardingContext;
import com.dangdang.ddframe.job.plugin.job.type.dataflow.AbstractIndividualSequenceDataFlowElasticJob;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Sequence fetches for each of its items. The element "y" of a batch fails. */
public final class Sequence extends AbstractIndividualSequenceDataFlowElasticJob<String> {

    private final Map<Integer, Integer> fetched = new ConcurrentHashMap<>();

    @Override
    public List<String> fetchData(final JobExecutionSingleShardingContext c) {
        Told.line("fetch", "item", c.getShardingItem(), "param", c.getShardingItemParameter(), "offset", c.getOffset(),
            "total", c.getShardingTotalCount(), "jobParam", c.getJobParameter(), "monitor", c.isMonitorExecution(), "fetch", c.getFetchDataCount());
        Integer before = fetched.get(c.getShardingItem());
        int n = null == before ? 0 : before;
        if (n == Work.batches()) {
            fetched.put(c.getShardingItem(), 0);
            return Collections.emptyList();
        }
        fetched.put(c.getShardingItem(), n + 1);
        return Arrays.asList("x" + n, "y" + n);
    }

    @Override
    public boolean processData(final JobExecutionSingleShardingContext c, final String data) {
        Told.line("process", "item", c.getShardingItem(), "data", data);
        updateOffset(c.getShardingItem(), data);
        return !data.startsWith("y");
    }
}
