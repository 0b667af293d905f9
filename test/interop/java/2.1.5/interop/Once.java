package interop;

import com.dangdang.ddframe.job.executor.ShardingContexts;
import com.dangdang.ddframe.job.lite.api.listener.AbstractDistributeOnceElasticJobListener;

/** Once prints when ElasticJob reports that all items of a tick have started, and that all have completed. */
public final class Once extends AbstractDistributeOnceElasticJobListener {

    Once(final long timeout) {
        super(timeout, timeout);
    }

    @Override
    public void doBeforeJobExecutedAtLastStarted(final ShardingContexts contexts) {
        tell("started", contexts);
    }

    @Override
    public void doAfterJobExecutedAtLastCompleted(final ShardingContexts contexts) {
        tell("completed", contexts);
    }

    private static void tell(final String word, final ShardingContexts contexts) {
        Told.line("%s %d 0 %d %s", word, System.currentTimeMillis(), contexts.getShardingTotalCount(), contexts.getTaskId());
    }
}
