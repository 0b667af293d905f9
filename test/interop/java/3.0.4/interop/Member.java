package interop;

import java.lang.reflect.Field;
import org.apache.shardingsphere.elasticjob.api.JobConfiguration;
import org.apache.shardingsphere.elasticjob.infra.env.IpUtils;
import org.apache.shardingsphere.elasticjob.lite.api.bootstrap.impl.OneOffJobBootstrap;
import org.apache.shardingsphere.elasticjob.lite.api.bootstrap.impl.ScheduleJobBootstrap;
import org.apache.shardingsphere.elasticjob.reg.zookeeper.ZookeeperConfiguration;
import org.apache.shardingsphere.elasticjob.reg.zookeeper.ZookeeperRegistryCenter;

/** Member is a process that runs one job as a member of ElasticJob-Lite 3.0.4, until it is asked to end. */
public final class Member {

    private Member() {
    }

    /** Joins the job, and prints "joined" when that is done. */
    public static void main(final String[] args) throws Exception {
        Settings s = new Settings(args);
        address(s.text("ip"));
        System.setProperty(Once.TIMEOUT, s.text("once", "0"));
        Runnable schedule = () -> { };
        if (s.text("cron").isEmpty()) {
            new OneOffJobBootstrap(registry(s), new Work(), configuration(s));
        } else {
            schedule = new ScheduleJobBootstrap(registry(s), new Work(), configuration(s))::schedule;
        }
        Fires.of(s.text("job"));
        schedule.run();
        Told.line("joined %d 0 0 %s", System.currentTimeMillis(), s.text("ip"));
    }

    /** The library has no setting for an address that the machine does not have, but it caches the address that it has found. */
    private static void address(final String ip) throws ReflectiveOperationException {
        Field found = IpUtils.class.getDeclaredField("cachedIpAddress");
        found.setAccessible(true);
        found.set(null, ip);
    }

    private static ZookeeperRegistryCenter registry(final Settings s) {
        ZookeeperConfiguration c = new ZookeeperConfiguration(s.text("zk"), s.text("namespace"));
        c.setSessionTimeoutMilliseconds(s.number("session", 3000));
        if (!s.text("digest", "").isEmpty()) {
            c.setDigest(s.text("digest"));
        }
        ZookeeperRegistryCenter registry = new ZookeeperRegistryCenter(c);
        registry.init();
        return registry;
    }

    private static JobConfiguration configuration(final Settings s) {
        JobConfiguration.Builder job = JobConfiguration.newBuilder(s.text("job"), s.number("total", 1))
            .shardingItemParameters(s.text("params", "")).jobParameter(s.text("parameter", ""))
            .failover(s.is("failover", false)).misfire(s.is("misfire", false))
            .monitorExecution(s.is("monitor", true)).overwrite(s.is("overwrite", false))
            .reconcileIntervalMinutes(s.number("reconcile", 10));
        if (!s.text("cron").isEmpty()) {
            job.cron(s.text("cron"));
        }
        if (!s.text("strategy", "").isEmpty()) {
            job.jobShardingStrategyType(s.text("strategy"));
        }
        if (s.number("once", 0) > 0) {
            job.jobListenerTypes(Once.TYPE);
        }
        return job.build();
    }
}
