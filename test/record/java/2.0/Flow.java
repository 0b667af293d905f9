package recorder;

import com.dangdang.ddframe.job.api.ShardingContext;
import com.dangdang.ddframe.job.api.dataflow.DataflowJob;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Flow fetches for each of its items. */
public final class Flow implements DataflowJob<String> {

    private final Map<Integer, Integer> fetched = new ConcurrentHashMap<>();

    @Override
    public List<String> fetchData(final ShardingContext c) {
        Work.begin("fetch", c);
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
    public void processData(final ShardingContext c, final List<String> data) {
        Told.line("process", "items", new int[] {c.getShardingItem()}, "data", data);
    }
}
