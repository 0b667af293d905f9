package recorder;

import com.dangdang.ddframe.job.api.ShardingContext;
import com.dangdang.ddframe.job.api.simple.SimpleJob;
import interop.Settings;

/** Work is the job. It prints its arguments, and when it has ended. */
public final class Work implements SimpleJob {

    private static long milliseconds;

    private static int batches;

    static void configure(final Settings s) {
        milliseconds = s.number("sleep", 0);
        batches = s.number("batches", 1);
    }

    @Override
    public void execute(final ShardingContext context) {
        begin("run", context);
        Told.line("end", "items", new int[] {context.getShardingItem()});
    }

    static void begin(final String word, final ShardingContext c) {
        Told.line(word, "items", new int[] {c.getShardingItem()}, "param", c.getShardingParameter(), "total", c.getShardingTotalCount(),
            "jobParam", c.getJobParameter(), "task", c.getTaskId());
        Told.sleep(milliseconds);
    }

    /** The number of batches to fetch in a run. */
    static int batches() {
        return batches;
    }
}
