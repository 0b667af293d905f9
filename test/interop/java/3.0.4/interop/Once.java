package interop;

import org.apache.shardingsphere.elasticjob.infra.listener.ShardingContexts;
import org.apache.shardingsphere.elasticjob.lite.api.listener.AbstractDistributeOnceElasticJobListener;

/**
 * Once prints when ElasticJob reports that all items of a tick have started, and that all have completed. The library
 * creates it, so the waiting time of members is a system property.
 */
public final class Once extends AbstractDistributeOnceElasticJobListener {

    static final String TYPE = "ONCE";

    static final String TIMEOUT = "interop.once";

    /** Used by the library. */
    public Once() {
        super(Long.getLong(TIMEOUT, 0), Long.getLong(TIMEOUT, 0));
    }

    @Override
    public void doBeforeJobExecutedAtLastStarted(final ShardingContexts contexts) {
        tell("started", contexts);
    }

    @Override
    public void doAfterJobExecutedAtLastCompleted(final ShardingContexts contexts) {
        tell("completed", contexts);
    }

    @Override
    public String getType() {
        return TYPE;
    }

    private static void tell(final String word, final ShardingContexts contexts) {
        Told.line("%s %d 0 %d %s", word, System.currentTimeMillis(), contexts.getShardingTotalCount(), contexts.getTaskId());
    }
}
