package interop;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.shardingsphere.elasticjob.infra.handler.sharding.JobInstance;
import org.apache.shardingsphere.elasticjob.infra.handler.sharding.JobShardingStrategy;
import org.apache.shardingsphere.elasticjob.infra.handler.sharding.impl.AverageAllocationJobShardingStrategy;

/** Backwards is a strategy that only this program knows. */
public final class Backwards implements JobShardingStrategy {

    @Override
    public Map<JobInstance, List<Integer>> sharding(final List<JobInstance> instances, final String jobName, final int total) {
        List<JobInstance> backwards = new ArrayList<>(instances);
        Collections.reverse(backwards);
        return new AverageAllocationJobShardingStrategy().sharding(backwards, jobName, total);
    }

    @Override
    public String getType() {
        return "interop.Backwards";
    }
}
