package recorder;

import com.dangdang.ddframe.job.api.JobExecutionMultipleShardingContext;
import com.dangdang.ddframe.job.api.listener.AbstractDistributeOnceElasticJobListener;

/** Once is called once for all members. */
final class Once extends AbstractDistributeOnceElasticJobListener {

    Once() {
        super(5000, 5000);
    }

    @Override
    public void doBeforeJobExecutedAtLastStarted(final JobExecutionMultipleShardingContext context) {
        Told.line("before", "items", context.getShardingItems());
    }

    @Override
    public void doAfterJobExecutedAtLastCompleted(final JobExecutionMultipleShardingContext context) {
        Told.line("after", "items", context.getShardingItems());
    }
}
