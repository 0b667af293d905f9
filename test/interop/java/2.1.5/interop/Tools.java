package interop;

import com.dangdang.ddframe.job.lite.lifecycle.api.JobAPIFactory;
import com.dangdang.ddframe.job.lite.lifecycle.api.JobOperateAPI;
import com.dangdang.ddframe.job.lite.lifecycle.domain.JobBriefInfo;
import com.dangdang.ddframe.job.lite.lifecycle.domain.JobSettings;
import com.dangdang.ddframe.job.lite.lifecycle.domain.ServerBriefInfo;
import com.dangdang.ddframe.job.lite.lifecycle.domain.ShardingInfo;
import com.google.common.base.Optional;
import java.util.Collection;
import java.util.TreeSet;

/**
 * Tools are the library's operations for a console, each named by its interface and method, such as
 * JobOperateAPI.shutdown. A name or an address "-" means that it is absent.
 */
final class Tools {

    private final String zk;

    private final String namespace;

    private final Optional<String> digest;

    Tools(final String zk, final String namespace, final Optional<String> digest) {
        this.zk = zk;
        this.namespace = namespace;
        this.digest = digest;
    }

    /** Calls a method, and prints its result in one line. */
    String call(final String method, final String first, final String second) {
        String api = method.substring(0, method.indexOf('.'));
        switch (api) {
            case "JobOperateAPI":
                operate(method, present(first), present(second));
                return "";
            case "ShardingOperateAPI":
                shard(method, first, second);
                return "";
            case "JobSettingsAPI":
                return settings(method, first, second);
            default:
                return read(method, first);
        }
    }

    private static Optional<String> present(final String word) {
        return word.isEmpty() || "-".equals(word) ? Optional.<String>absent() : Optional.of(word);
    }

    private void operate(final String method, final Optional<String> job, final Optional<String> ip) {
        JobOperateAPI api = JobAPIFactory.createJobOperateAPI(zk, namespace, digest);
        switch (method) {
            case "JobOperateAPI.trigger":
                api.trigger(job, ip);
                break;
            case "JobOperateAPI.disable":
                api.disable(job, ip);
                break;
            case "JobOperateAPI.enable":
                api.enable(job, ip);
                break;
            case "JobOperateAPI.shutdown":
                api.shutdown(job, ip);
                break;
            case "JobOperateAPI.remove":
                api.remove(job, ip);
                break;
            default:
                throw unknown(method);
        }
    }

    private void shard(final String method, final String job, final String item) {
        switch (method) {
            case "ShardingOperateAPI.disable":
                JobAPIFactory.createShardingOperateAPI(zk, namespace, digest).disable(job, item);
                break;
            case "ShardingOperateAPI.enable":
                JobAPIFactory.createShardingOperateAPI(zk, namespace, digest).enable(job, item);
                break;
            default:
                throw unknown(method);
        }
    }

    private String settings(final String method, final String job, final String changes) {
        switch (method) {
            case "JobSettingsAPI.getJobSettings":
                return say(JobAPIFactory.createJobSettingsAPI(zk, namespace, digest).getJobSettings(job));
            case "JobSettingsAPI.updateJobSettings":
                Operator.change(JobAPIFactory.createJobSettingsAPI(zk, namespace, digest), job, changes.split("\\|"));
                return "";
            case "JobSettingsAPI.removeJobSettings":
                JobAPIFactory.createJobSettingsAPI(zk, namespace, digest).removeJobSettings(job);
                return "";
            default:
                throw unknown(method);
        }
    }

    private String read(final String method, final String first) {
        switch (method) {
            case "JobStatisticsAPI.getJobsTotalCount":
                return "" + JobAPIFactory.createJobStatisticsAPI(zk, namespace, digest).getJobsTotalCount();
            case "JobStatisticsAPI.getAllJobsBriefInfo":
                return jobs(JobAPIFactory.createJobStatisticsAPI(zk, namespace, digest).getAllJobsBriefInfo());
            case "JobStatisticsAPI.getJobBriefInfo":
                return say(JobAPIFactory.createJobStatisticsAPI(zk, namespace, digest).getJobBriefInfo(first));
            case "JobStatisticsAPI.getJobsBriefInfo":
                return jobs(JobAPIFactory.createJobStatisticsAPI(zk, namespace, digest).getJobsBriefInfo(first));
            case "ServerStatisticsAPI.getServersTotalCount":
                return "" + JobAPIFactory.createServerStatisticsAPI(zk, namespace, digest).getServersTotalCount();
            case "ServerStatisticsAPI.getAllServersBriefInfo":
                return servers(JobAPIFactory.createServerStatisticsAPI(zk, namespace, digest).getAllServersBriefInfo());
            case "ShardingStatisticsAPI.getShardingInfo":
                return items(JobAPIFactory.createShardingStatisticsAPI(zk, namespace, digest).getShardingInfo(first));
            default:
                throw unknown(method);
        }
    }

    private static IllegalArgumentException unknown(final String method) {
        return new IllegalArgumentException("no such operation: " + method);
    }

    private static String jobs(final Collection<JobBriefInfo> all) {
        StringBuilder text = new StringBuilder();
        for (JobBriefInfo each : new TreeSet<>(all)) {
            text.append(say(each)).append("; ");
        }
        return text.toString();
    }

    private static String say(final JobBriefInfo job) {
        return null == job ? "none" : String.format("%s %s, %d instances, %d items, %s, '%s'", job.getJobName(), job.getStatus(),
            job.getInstanceCount(), job.getShardingTotalCount(), job.getCron(), job.getDescription());
    }

    private static String servers(final Collection<ServerBriefInfo> all) {
        StringBuilder text = new StringBuilder();
        for (ServerBriefInfo each : new TreeSet<>(all)) {
            text.append(String.format("%s: %d instances, %d jobs, %s disabled; ", each.getServerIp(), each.getInstancesNum(), each.getJobsNum(), each.getDisabledJobsNum()));
        }
        return text.toString();
    }

    private static String items(final Collection<ShardingInfo> all) {
        StringBuilder text = new StringBuilder();
        for (ShardingInfo each : new TreeSet<>(all)) {
            text.append(String.format("%d %s %s%s; ", each.getItem(), each.getServerIp(), each.getStatus(), each.isFailover() ? " failover" : ""));
        }
        return text.toString();
    }

    private static String say(final JobSettings s) {
        return String.format("%s %s '%s' cron=%s total=%d params=%s parameter='%s' monitor=%s streaming=%s skew=%d port=%d failover=%s misfire=%s strategy='%s' "
            + "description='%s' properties=%s script='%s' reconcile=%d", s.getJobName(), s.getJobType(), s.getJobClass(), s.getCron(), s.getShardingTotalCount(),
            s.getShardingItemParameters(), s.getJobParameter(), s.isMonitorExecution(), s.isStreamingProcess(), s.getMaxTimeDiffSeconds(), s.getMonitorPort(), s.isFailover(),
            s.isMisfire(), s.getJobShardingStrategyClass(), s.getDescription(), s.getJobProperties(), s.getScriptCommandLine(), s.getReconcileIntervalMinutes());
    }
}
