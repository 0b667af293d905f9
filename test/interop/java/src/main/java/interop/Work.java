package interop;

import com.dangdang.ddframe.job.api.ShardingContext;
import com.dangdang.ddframe.job.api.simple.SimpleJob;

/**
 * Work is the job. It tells when an item starts and ends, and lasts as many milliseconds as the item's parameter says.
 * A line is: word, milliseconds since 1970, item, total, task id.
 */
public final class Work implements SimpleJob {

    @Override
    public void execute(final ShardingContext context) {
        tell("start", context);
        try {
            Thread.sleep(duration(context.getShardingParameter()));
        } catch (final InterruptedException ex) {
            tell("stop", context);
            return;
        }
        tell("end", context);
    }

    private static long duration(final String parameter) {
        return null == parameter || parameter.isEmpty() ? 0 : Long.parseLong(parameter);
    }

    private static void tell(final String word, final ShardingContext context) {
        Told.line("%s %d %d %d %s", word, System.currentTimeMillis(), context.getShardingItem(), context.getShardingTotalCount(), context.getTaskId());
    }
}
