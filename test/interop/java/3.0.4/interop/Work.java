package interop;

import org.apache.shardingsphere.elasticjob.api.ShardingContext;
import org.apache.shardingsphere.elasticjob.simple.job.SimpleJob;

/** Work is the job. */
public final class Work implements SimpleJob {

    @Override
    public void execute(final ShardingContext context) {
        new Item(context.getShardingItem(), context.getShardingTotalCount(), context.getTaskId()).run(context.getShardingParameter());
    }
}
