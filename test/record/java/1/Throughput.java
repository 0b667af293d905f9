package recorder;

import com.dangdang.ddframe.job.api.JobExecutionMultipleShardingContext;
import com.dangdang.ddframe.job.plugin.job.type.dataflow.AbstractBatchThroughputDataFlowElasticJob;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Throughput fetches for all its items at once. One of the three elements of a batch fails. */
public final class Throughput extends AbstractBatchThroughputDataFlowElasticJob<String> {

    private int fetched;

    @Override
    public synchronized List<String> fetchData(final JobExecutionMultipleShardingContext context) {
        Work.begin("fetch", context);
        if (fetched == Work.batches()) {
            fetched = 0;
            return Collections.emptyList();
        }
        fetched++;
        return Arrays.asList("x" + fetched, "y" + fetched, "z" + fetched);
    }

    @Override
    public int processData(final JobExecutionMultipleShardingContext context, final List<String> data) {
        Told.line("process", "items", context.getShardingItems(), "data", data);
        for (int item : context.getShardingItems()) {
            updateOffset(item, data.get(data.size() - 1));
        }
        return data.contains("y" + fetched) ? data.size() - 1 : data.size();
    }
}
