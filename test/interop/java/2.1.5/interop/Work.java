package interop;

import com.dangdang.ddframe.job.api.ShardingContext;
import com.dangdang.ddframe.job.api.simple.SimpleJob;

/** Work is the job. */
public final class Work implements SimpleJob {

    @Override
    public void execute(final ShardingContext context) {
        new Item(context.getShardingItem(), context.getShardingTotalCount(), context.getTaskId()).run(context.getShardingParameter());
    }
}
