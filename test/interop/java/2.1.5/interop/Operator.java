package interop;

import com.dangdang.ddframe.job.lite.lifecycle.api.JobAPIFactory;
import com.dangdang.ddframe.job.lite.lifecycle.api.JobOperateAPI;
import com.dangdang.ddframe.job.lite.lifecycle.api.JobSettingsAPI;
import com.dangdang.ddframe.job.lite.lifecycle.api.ShardingOperateAPI;
import com.dangdang.ddframe.job.lite.lifecycle.domain.JobSettings;
import com.google.common.base.Optional;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * Operator carries out a console's commands with the library's own operations. A line of its input is namespace, job, word
 * and argument; it answers each with "done" or "failed". A word that names a method of Tools has two arguments; the first
 * may be the job. The method's result follows "done".
 */
public final class Operator {

    private final String zk;

    private final Optional<String> digest;

    private Operator(final Settings s) {
        zk = s.text("zk");
        digest = Optional.fromNullable(s.text("digest", null));
    }

    /** Processes commands until its input ends. */
    public static void main(final String[] args) throws IOException {
        Operator operator = new Operator(new Settings(args));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); null != line; line = in.readLine()) {
            try {
                String[] words = line.split(" ", 4);
                if (words[2].contains("API.")) {
                    String[] more = (words.length > 3 ? words[3] : "").split(" ", 2);
                    String answer = new Tools(operator.zk, words[0], operator.digest).call(words[2], more[0], more.length > 1 ? more[1] : "");
                    Told.line("done%s", answer.isEmpty() ? "" : " " + answer.trim());
                    continue;
                }
                operator.operate(words[0], words[1], words[2], words.length > 3 ? words[3] : "");
                Told.line("done");
            } catch (final RuntimeException ex) {
                Told.line("failed %s", ex.toString().replace('\n', ' '));
            }
        }
        System.exit(0); // otherwise threads of the client would go on
    }

    private void operate(final String namespace, final String job, final String word, final String argument) {
        JobOperateAPI jobs = JobAPIFactory.createJobOperateAPI(zk, namespace, digest);
        ShardingOperateAPI items = JobAPIFactory.createShardingOperateAPI(zk, namespace, digest);
        switch (word) {
            case "trigger":
                jobs.trigger(Optional.of(job), Optional.<String>absent());
                break;
            case "disable-server":
                jobs.disable(Optional.of(job), Optional.of(argument));
                break;
            case "enable-server":
                jobs.enable(Optional.of(job), Optional.of(argument));
                break;
            case "disable-item":
                items.disable(job, argument);
                break;
            case "enable-item":
                items.enable(job, argument);
                break;
            case "shutdown":
                jobs.shutdown(Optional.of(job), Optional.of(argument));
                break;
            case "set":
                change(JobAPIFactory.createJobSettingsAPI(zk, namespace, digest), job, argument.split("\\|"));
                break;
            default:
                throw new IllegalArgumentException("no such operation: " + word);
        }
    }

    /** Each change has the form key=value. */
    static void change(final JobSettingsAPI api, final String job, final String[] changes) {
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
            case "class":
                settings.setJobClass(value);
                break;
            case "parameter":
                settings.setJobParameter(value);
                break;
            case "strategy":
                settings.setJobShardingStrategyClass(value);
                break;
            case "description":
                settings.setDescription(value);
                break;
            case "monitor":
                settings.setMonitorExecution(Boolean.parseBoolean(value));
                break;
            case "streaming":
                settings.setStreamingProcess(Boolean.parseBoolean(value));
                break;
            case "failover":
                settings.setFailover(Boolean.parseBoolean(value));
                break;
            case "misfire":
                settings.setMisfire(Boolean.parseBoolean(value));
                break;
            case "skew":
                settings.setMaxTimeDiffSeconds(Integer.parseInt(value));
                break;
            case "port":
                settings.setMonitorPort(Integer.parseInt(value));
                break;
            case "reconcile":
                settings.setReconcileIntervalMinutes(Integer.parseInt(value));
                break;
            default:
                throw new IllegalArgumentException("no such setting: " + key);
        }
    }
}
