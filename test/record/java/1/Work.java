package recorder;

import com.dangdang.ddframe.job.api.JobExecutionMultipleShardingContext;
import com.dangdang.ddframe.job.plugin.job.type.simple.AbstractSimpleElasticJob;
import interop.Settings;

/** Work is the job. It prints its arguments, and when it has ended. */
public final class Work extends AbstractSimpleElasticJob {

    private static long milliseconds;

    private static int batches;

    static void configure(final Settings s) {
        milliseconds = s.number("sleep", 0);
        batches = s.number("batches", 1);
    }

    @Override
    public void process(final JobExecutionMultipleShardingContext context) {
        begin("run", context);
        end("end", context);
    }

    static void begin(final String word, final JobExecutionMultipleShardingContext c) {
        Told.line(word, "items", c.getShardingItems(), "params", c.getShardingItemParameters(), "offsets", c.getOffsets(),
            "total", c.getShardingTotalCount(), "jobParam", c.getJobParameter(), "monitor", c.isMonitorExecution(), "fetch", c.getFetchDataCount());
        Told.sleep(milliseconds);
    }

    static void end(final String word, final JobExecutionMultipleShardingContext c) {
        Told.line(word, "items", c.getShardingItems());
    }

    /** The number of batches to fetch in a run. */
    static int batches() {
        return batches;
    }
}
