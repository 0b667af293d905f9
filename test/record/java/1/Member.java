package recorder;

import com.dangdang.ddframe.job.api.JobScheduler;
import com.dangdang.ddframe.job.api.config.JobConfiguration;
import com.dangdang.ddframe.job.api.config.impl.AbstractJobConfiguration.AbstractJobConfigurationBuilder;
import com.dangdang.ddframe.job.api.config.impl.DataFlowJobConfiguration.DataFlowJobConfigurationBuilder;
import com.dangdang.ddframe.job.api.config.impl.ScriptJobConfiguration.ScriptJobConfigurationBuilder;
import com.dangdang.ddframe.job.api.config.impl.SimpleJobConfiguration.SimpleJobConfigurationBuilder;
import com.dangdang.ddframe.job.api.listener.ElasticJobListener;
import com.dangdang.ddframe.job.internal.env.LocalHostService;
import com.dangdang.ddframe.reg.zookeeper.ZookeeperConfiguration;
import com.dangdang.ddframe.reg.zookeeper.ZookeeperRegistryCenter;
import interop.Settings;
import java.lang.reflect.Field;

/** Member is a process that runs one job as a member of elastic-job-core 1.1.1, until it is asked to end. */
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
        ElasticJobListener[] listeners = s.is("once", false) ? new ElasticJobListener[] {new Once()} : new ElasticJobListener[0];
        new JobScheduler(registry, configuration(s), listeners).init();
        Told.line("joined");
    }

    /** The library has no setting for the address, but caches the address that it has found. */
    private static void address(final String ip) throws ReflectiveOperationException {
        Field found = LocalHostService.class.getDeclaredField("cachedIpAddress");
        found.setAccessible(true);
        found.set(null, ip);
    }

    private static JobConfiguration<?> configuration(final Settings s) {
        String job = s.text("job");
        int total = s.number("total", 1);
        String cron = s.text("cron");
        switch (s.text("kind", "simple")) {
            case "simple":
                return common(new SimpleJobConfigurationBuilder(job, Work.class, total, cron), s);
            case "script":
                return common(new ScriptJobConfigurationBuilder(job, total, cron, s.text("script")), s);
            case "sequence":
                return common(flow(new DataFlowJobConfigurationBuilder(job, Sequence.class, total, cron), s), s);
            case "throughput":
                return common(flow(new DataFlowJobConfigurationBuilder(job, Throughput.class, total, cron), s), s);
            default:
                throw new IllegalArgumentException("kind");
        }
    }

    private static DataFlowJobConfigurationBuilder flow(final DataFlowJobConfigurationBuilder b, final Settings s) {
        return b.streamingProcess(s.is("streaming", false)).processCountIntervalSeconds(s.number("counts", 300))
            .fetchDataCount(s.number("fetch", 1)).concurrentDataProcessThreadCount(s.number("threads", 1));
    }

    @SuppressWarnings({"rawtypes", "unchecked"})
    private static JobConfiguration<?> common(final AbstractJobConfigurationBuilder b, final Settings s) {
        b.shardingItemParameters(s.text("params", "")).jobParameter(s.text("parameter", "")).monitorExecution(s.is("monitor", true))
            .maxTimeDiffSeconds(s.number("skew", -1)).failover(s.is("failover", false)).misfire(s.is("misfire", true))
            .monitorPort(s.number("port", -1)).jobShardingStrategyClass(s.text("strategy", "")).description(s.text("description", ""))
            .disabled(s.is("disabled", false)).overwrite(s.is("overwrite", false));
        return (JobConfiguration<?>) b.build();
    }
}
