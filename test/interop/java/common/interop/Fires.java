package interop;

import org.quartz.CronTrigger;
import org.quartz.JobExecutionContext;
import org.quartz.SchedulerException;
import org.quartz.Trigger;
import org.quartz.impl.SchedulerRepository;
import org.quartz.listeners.TriggerListenerSupport;

/**
 * Fires prints what the scheduler of a member does: which instant it fires, and when, which it leaves out, and when the
 * round is over. An instant of 0 is a requested round. A line is: word, milliseconds since 1970, instant, 0, trigger.
 */
final class Fires extends TriggerListenerSupport {

    /** Listens to the scheduler of a job, which has the job's name. */
    static void of(final String job) throws SchedulerException {
        SchedulerRepository.getInstance().lookup(job).getListenerManager().addTriggerListener(new Fires());
    }

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
}
