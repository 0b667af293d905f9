package interop;

import com.dangdang.ddframe.job.api.ElasticJob;
import com.dangdang.ddframe.job.config.JobCoreConfiguration;
import com.dangdang.ddframe.job.config.simple.SimpleJobConfiguration;
import com.dangdang.ddframe.job.lite.api.JobScheduler;
import com.dangdang.ddframe.job.lite.api.listener.ElasticJobListener;
import com.dangdang.ddframe.job.lite.config.LiteJobConfiguration;
import com.dangdang.ddframe.job.reg.base.CoordinatorRegistryCenter;
import com.dangdang.ddframe.job.reg.zookeeper.ZookeeperConfiguration;
import com.dangdang.ddframe.job.reg.zookeeper.ZookeeperRegistryCenter;
import com.dangdang.ddframe.job.util.env.IpUtils;
import com.google.common.base.Optional;
import java.lang.reflect.Field;
import org.quartz.SchedulerException;

/** Member is a process that runs one job as a member of ElasticJob-Lite 2.1.5, until it is asked to end. */
public final class Member {

    private Member() {
    }

    /** Joins the job, and prints "joined" when that is done. */
    public static void main(final String[] args) throws Exception {
        Settings s = new Settings(args);
        address(s.text("ip"));
        ZookeeperRegistryCenter registry = registry(s);
        new Scheduler(registry, configuration(s), listeners(s)).init();
        Told.line("joined %d 0 0 %s", System.currentTimeMillis(), s.text("ip"));
    }

    /** The library has no setting for the address, but caches the address that it has found. */
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

    private static LiteJobConfiguration configuration(final Settings s) {
        JobCoreConfiguration core = JobCoreConfiguration.newBuilder(s.text("job"), s.text("cron"), s.number("total", 1))
            .shardingItemParameters(s.text("params", "")).jobParameter(s.text("parameter", ""))
            .failover(s.is("failover", false)).misfire(s.is("misfire", false)).build();
        return LiteJobConfiguration.newBuilder(new SimpleJobConfiguration(core, s.text("class", Work.class.getCanonicalName())))
            .monitorExecution(s.is("monitor", true)).overwrite(s.is("overwrite", false))
            .jobShardingStrategyClass(s.text("strategy", "")).reconcileIntervalMinutes(s.number("reconcile", 10)).build();
    }

    private static ElasticJobListener[] listeners(final Settings s) {
        int timeout = s.number("once", 0);
        return timeout > 0 ? new ElasticJobListener[] {new Once(timeout)} : new ElasticJobListener[0];
    }

    /** Scheduler is the library's scheduler. It asks for the job between the creation and the start of its Quartz. */
    private static final class Scheduler extends JobScheduler {

        private final String job;

        Scheduler(final CoordinatorRegistryCenter registry, final LiteJobConfiguration configuration, final ElasticJobListener... listeners) {
            super(registry, configuration, listeners);
            job = configuration.getJobName();
        }

        @Override
        protected Optional<ElasticJob> createElasticJobInstance() {
            try {
                Fires.of(job);
            } catch (final SchedulerException ex) {
                throw new IllegalStateException(ex);
            }
            return super.createElasticJobInstance();
        }
    }
}
