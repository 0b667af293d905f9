package recorder;

import com.dangdang.ddframe.job.lite.lifecycle.api.JobAPIFactory;
import com.dangdang.ddframe.job.lite.lifecycle.api.JobOperateAPI;
import com.dangdang.ddframe.job.lite.lifecycle.api.JobSettingsAPI;
import com.dangdang.ddframe.job.lite.lifecycle.api.JobStatisticsAPI;
import com.dangdang.ddframe.job.lite.lifecycle.domain.JobSettings;
import com.google.common.base.Optional;
import interop.Settings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;

/**
 * Operator carries out its console's commands with the library's own operations. A line of its input is namespace, job, word
 * and argument. It answers each with "done" or "failed".
 */
public final class Operator {

    private Operator() {
    }

    /** Processes commands until its input ends. */
    public static void main(final String[] args) throws IOException {
        String zk = new Settings(args).text("zk");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); null != line; line = in.readLine()) {
            try {
                String[] words = line.split(" ", 4);
                Told.line("done", "asked", line, "said", operate(zk, words[0], words[1], words[2], words.length > 3 ? words[3] : ""));
            } catch (final RuntimeException ex) {
                Told.line("failed", "asked", line, "said", ex.toString());
            }
        }
        System.exit(0); // otherwise threads of the client would go on
    }

    private static Object operate(final String zk, final String namespace, final String job, final String word, final String argument) {
        Optional<String> none = Optional.absent();
        JobOperateAPI jobs = JobAPIFactory.createJobOperateAPI(zk, namespace, none);
        JobStatisticsAPI shown = JobAPIFactory.createJobStatisticsAPI(zk, namespace, none);
        Optional<String> ip = argument.isEmpty() ? none : Optional.of(argument);
        switch (word) {
            case "trigger":
                jobs.trigger(Optional.of(job), ip);
                return null;
            case "pause":
                jobs.pause(Optional.of(job), ip);
                return null;
            case "resume":
                jobs.resume(Optional.of(job), ip);
                return null;
            case "disable":
                jobs.disable(Optional.of(job), ip);
                return null;
            case "enable":
                jobs.enable(Optional.of(job), ip);
                return null;
            case "shutdown":
                jobs.shutdown(Optional.of(job), ip);
                return null;
            case "remove":
                return new ArrayList<>(jobs.remove(Optional.of(job), ip));
            case "set":
                change(JobAPIFactory.createJobSettingsAPI(zk, namespace, none), job, argument.split("\\|"));
                return null;
            case "jobs":
                return shown.getAllJobsBriefInfo();
            case "servers":
                return shown.getServers(job);
            case "items":
                return shown.getExecutionInfo(job);
            default:
                throw new IllegalArgumentException("no such operation: " + word);
        }
    }

    /** Each change has the form key=value. */
    private static void change(final JobSettingsAPI api, final String job, final String[] changes) {
        JobSettings settings = api.getJobSettings(job);
        for (String each : changes) {
            String[] pair = each.split("=", 2);
            set(settings, pair[0], pair[1]);
        }
        api.updateJobSettings(settings);
    }

    private static void set(final JobSettings settings, final String key, final String value) {
        switch (key) {
            case "cron":
                settings.setCron(value);
                break;
            case "total":
                settings.setShardingTotalCount(Integer.parseInt(value));
                break;
            case "params":
                settings.setShardingItemParameters(value);
                break;
            case "monitor":
                settings.setMonitorExecution(Boolean.parseBoolean(value));
                break;
            case "failover":
                settings.setFailover(Boolean.parseBoolean(value));
                break;
            case "misfire":
                settings.setMisfire(Boolean.parseBoolean(value));
                break;
            default:
                throw new IllegalArgumentException("no such setting: " + key);
        }
    }
}
