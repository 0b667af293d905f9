package recorder;

import com.dangdang.ddframe.job.api.JobExecutionMultipleShardingContext;
import com.dangdang.ddframe.job.plugin.job.type.simple.AbstractSimpleElasticJob;
import interop.Settings;

/** Work is the job. It prints its arguments, and when it has ended. */
public final class Work extends AbstractSimpleElasticJob {

    private static long milliseconds;

    static void configure(final Settings s) {
        milliseconds = s.number("sleep", 0);
    }

    @Override
    public void process(final JobExecutionMultipleShardingContext c) {
        Told.line("run", "items", c.getShardingItems(), "params", c.getShardingItemParameters(), "total", c.getShardingTotalCount(),
            "jobParam", c.getJobParameter(), "monitor", c.isMonitorExecution(), "fetch", c.getFetchDataCount());
        Told.sleep(milliseconds);
        Told.line("end", "items", c.getShardingItems());
    }
}
