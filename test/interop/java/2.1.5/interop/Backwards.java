package interop;

import com.dangdang.ddframe.job.lite.api.strategy.JobInstance;
import com.dangdang.ddframe.job.lite.api.strategy.JobShardingStrategy;
import com.dangdang.ddframe.job.lite.api.strategy.impl.AverageAllocationJobShardingStrategy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Backwards is a strategy that only this program knows. */
public final class Backwards implements JobShardingStrategy {

    @Override
    public Map<JobInstance, List<Integer>> sharding(final List<JobInstance> instances, final String jobName, final int total) {
        List<JobInstance> backwards = new ArrayList<>(instances);
        Collections.reverse(backwards);
        return new AverageAllocationJobShardingStrategy().sharding(backwards, jobName, total);
    }
}
