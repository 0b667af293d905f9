package interop;

import com.dangdang.ddframe.job.api.ElasticJob;
import com.dangdang.ddframe.job.lite.api.JobScheduler;
import com.dangdang.ddframe.job.lite.api.listener.ElasticJobListener;
import com.dangdang.ddframe.job.lite.config.LiteJobConfiguration;
import com.dangdang.ddframe.job.reg.base.CoordinatorRegistryCenter;
import com.google.common.base.Optional;
import org.quartz.CronTrigger;
import org.quartz.JobExecutionContext;
import org.quartz.SchedulerException;
import org.quartz.Trigger;
import org.quartz.impl.SchedulerRepository;
import org.quartz.listeners.TriggerListenerSupport;

/**
 * Fires tells what the scheduler of a member does: which instant it fires, and when, which it leaves out, and when the
 * round is over. An instant of 0 is a round that somebody has asked for. A line is: word, milliseconds since 1970,
 * instant, 0, trigger.
 */
final class Fires extends TriggerListenerSupport {

    @Override
    public String getName() {
        return "fires";
    }

    @Override
    public void triggerFired(final Trigger trigger, final JobExecutionContext context) {
        tell("fired", trigger, context.getScheduledFireTime().getTime());
    }

    @Override
    public void triggerMisfired(final Trigger trigger) {
        tell("misfired", trigger, trigger.getNextFireTime().getTime());
    }

    @Override
    public void triggerComplete(final Trigger trigger, final JobExecutionContext context, final Trigger.CompletedExecutionInstruction next) {
        tell("over", trigger, context.getScheduledFireTime().getTime());
    }

    private static void tell(final String word, final Trigger trigger, final long instant) {
        Told.line("%s %d %d 0 %s", word, System.currentTimeMillis(), trigger instanceof CronTrigger ? instant : 0, trigger.getKey().getName());
    }

    /** The library's scheduler. It asks for the job when its Quartz is there and has not started. */
    static final class Scheduler extends JobScheduler {

        private final String job;

        Scheduler(final CoordinatorRegistryCenter registry, final LiteJobConfiguration configuration, final ElasticJobListener... listeners) {
            super(registry, configuration, listeners);
            job = configuration.getJobName();
        }

        @Override
        protected Optional<ElasticJob> createElasticJobInstance() {
            try {
                SchedulerRepository.getInstance().lookup(job).getListenerManager().addTriggerListener(new Fires());
            } catch (final SchedulerException ex) {
                throw new IllegalStateException(ex);
            }
            return super.createElasticJobInstance();
        }
    }
}
