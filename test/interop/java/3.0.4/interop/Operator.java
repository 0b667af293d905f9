package interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.shardingsphere.elasticjob.infra.pojo.JobConfigurationPOJO;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.JobAPIFactory;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.JobConfigurationAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.JobOperateAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.ShardingOperateAPI;

/**
 * Operator carries out a console's commands with the library's own operations. A line of its input is namespace, job, word
 * and argument; it answers each with "done" or "failed".
 */
public final class Operator {

    private final String zk;

    private final String digest;

    private Operator(final Settings s) {
        zk = s.text("zk");
        digest = s.text("digest", null);
    }

    /** Processes commands until its input ends. */
    public static void main(final String[] args) throws IOException {
        Operator operator = new Operator(new Settings(args));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); null != line; line = in.readLine()) {
            try {
                String[] words = line.split(" ", 4);
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
                jobs.trigger(job);
                break;
            case "disable-server":
                jobs.disable(job, argument);
                break;
            case "enable-server":
                jobs.enable(job, argument);
                break;
            case "disable-item":
                items.disable(job, argument);
                break;
            case "enable-item":
                items.enable(job, argument);
                break;
            case "shutdown":
                jobs.shutdown(job, argument);
                break;
            case "set":
                change(JobAPIFactory.createJobConfigurationAPI(zk, namespace, digest), job, argument.split("\\|"));
                break;
            default:
                throw new IllegalArgumentException("no such operation: " + word);
        }
    }

    /** Each change has the form key=value. */
    private static void change(final JobConfigurationAPI api, final String job, final String[] changes) {
        JobConfigurationPOJO configuration = api.getJobConfiguration(job);
        for (String each : changes) {
            String[] pair = each.split("=", 2);
            set(configuration, pair[0], pair[1]);
        }
        api.updateJobConfiguration(configuration);
    }

    private static void set(final JobConfigurationPOJO configuration, final String key, final String value) {
        switch (key) {
            case "cron":
                configuration.setCron(value);
                break;
            case "total":
                configuration.setShardingTotalCount(Integer.parseInt(value));
                break;
            case "params":
                configuration.setShardingItemParameters(value);
                break;
            default:
                throw new IllegalArgumentException("no such setting: " + key);
        }
    }
}
