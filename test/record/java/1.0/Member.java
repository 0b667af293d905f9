package recorder;

import com.dangdang.ddframe.job.api.JobConfiguration;
import com.dangdang.ddframe.job.api.JobScheduler;
import com.dangdang.ddframe.job.internal.env.LocalHostService;
import com.dangdang.ddframe.reg.zookeeper.ZookeeperConfiguration;
import com.dangdang.ddframe.reg.zookeeper.ZookeeperRegistryCenter;
import interop.Settings;
import java.lang.reflect.Field;

/** Member is a process that runs one job as a member of elastic-job-core 1.0.6, until it is asked to end. */
public final class Member {

    private Member() {
    }

    /** Prints "ready", joins the job after a line of input, and prints "joined". */
    public static void main(final String[] args) throws Exception {
        Settings s = new Settings(args);
        address(s.text("ip"));
        Work.configure(s);
        Told.ready();
        ZookeeperConfiguration c = new ZookeeperConfiguration(s.text("zk"), s.text("namespace"), 1000, 3000, 3);
        c.setSessionTimeoutMilliseconds(s.number("session", 2000));
        ZookeeperRegistryCenter registry = new ZookeeperRegistryCenter(c);
        registry.init();
        JobConfiguration job = new JobConfiguration(s.text("job"), Work.class, s.number("total", 1), s.text("cron"));
        job.setShardingItemParameters(s.text("params", ""));
        job.setJobParameter(s.text("parameter", ""));
        new JobScheduler(registry, job).init();
        Told.line("joined");
    }

    /** The library has no setting for the address, but caches the address that it has found. */
    private static void address(final String ip) throws ReflectiveOperationException {
        Field found = LocalHostService.class.getDeclaredField("cachedIpAddress");
        found.setAccessible(true);
        found.set(null, ip);
    }
}
