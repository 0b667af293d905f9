package recorder;

import com.dangdang.ddframe.job.config.JobCoreConfiguration;
import com.dangdang.ddframe.job.config.JobTypeConfiguration;
import com.dangdang.ddframe.job.config.dataflow.DataflowJobConfiguration;
import com.dangdang.ddframe.job.config.script.ScriptJobConfiguration;
import com.dangdang.ddframe.job.config.simple.SimpleJobConfiguration;
import com.dangdang.ddframe.job.lite.api.JobScheduler;
import com.dangdang.ddframe.job.lite.api.listener.ElasticJobListener;
import com.dangdang.ddframe.job.lite.config.LiteJobConfiguration;
import com.dangdang.ddframe.job.reg.zookeeper.ZookeeperConfiguration;
import com.dangdang.ddframe.job.reg.zookeeper.ZookeeperRegistryCenter;
import com.dangdang.ddframe.job.util.env.LocalHostService;
import interop.Settings;
import java.lang.reflect.Field;

/** Member is a process that runs one job as a member of elastic-job-lite-core 2.0.5, until it is asked to end. */
public final class Member {

    private Member() {
    }

    /** Prints "ready", joins the job after a line of input, and prints "joined". */
    public static void main(final String[] args) throws Exception {
        Settings s = new Settings(args);
        address(s.text("ip"));
        Work.configure(s);
        Told.ready();
        ZookeeperConfiguration c = new ZookeeperConfiguration(s.text("zk"), s.text("namespace"));
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

    private static LiteJobConfiguration configuration(final Settings s) {
        JobCoreConfiguration core = JobCoreConfiguration.newBuilder(s.text("job"), s.text("cron"), s.number("total", 1))
            .shardingItemParameters(s.text("params", "")).jobParameter(s.text("parameter", "")).failover(s.is("failover", false))
            .misfire(s.is("misfire", true)).description(s.text("description", "")).build();
        return LiteJobConfiguration.newBuilder(type(core, s)).monitorExecution(s.is("monitor", true)).maxTimeDiffSeconds(s.number("skew", -1))
            .monitorPort(s.number("port", -1)).jobShardingStrategyClass(s.text("strategy", "")).disabled(s.is("disabled", false))
            .overwrite(s.is("overwrite", false)).build();
    }

    private static JobTypeConfiguration type(final JobCoreConfiguration core, final Settings s) {
        switch (s.text("kind", "simple")) {
            case "simple":
                return new SimpleJobConfiguration(core, Work.class.getCanonicalName());
            case "script":
                return new ScriptJobConfiguration(core, s.text("script"));
            case "dataflow":
                return new DataflowJobConfiguration(core, Flow.class.getCanonicalName(), s.is("streaming", false));
            default:
                throw new IllegalArgumentException("kind");
        }
    }
}
