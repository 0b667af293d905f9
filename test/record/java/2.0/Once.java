package recorder;

import com.dangdang.ddframe.job.executor.ShardingContexts;
import com.dangdang.ddframe.job.lite.api.listener.AbstractDistributeOnceElasticJobListener;

/** Once is called once for all members. */
final class Once extends AbstractDistributeOnceElasticJobListener {

    Once() {
        super(5000, 5000);
    }

    @Override
    public void doBeforeJobExecutedAtLastStarted(final ShardingContexts contexts) {
        Told.line("before", "items", contexts.getShardingItemParameters().keySet());
    }

    @Override
    public void doAfterJobExecutedAtLastCompleted(final ShardingContexts contexts) {
        Told.line("after", "items", contexts.getShardingItemParameters().keySet());
    }
}
