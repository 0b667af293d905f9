package recorder;

import com.dangdang.ddframe.reg.zookeeper.ZookeeperConfiguration;
import com.dangdang.ddframe.reg.zookeeper.ZookeeperRegistryCenter;
import interop.Settings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * Operator creates and removes flags of servers. The console of this release is a web application, which no registry of
 * packages has. A line of its input is namespace, job, word and the name of a node below the servers.
 */
public final class Operator {

    private Operator() {
    }

    /** Processes commands until its input ends. */
    public static void main(final String[] args) throws IOException {
        String zk = new Settings(args).text("zk");
        ZookeeperRegistryCenter registry = null;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); null != line; line = in.readLine()) {
            String[] words = line.split(" ", 4);
            if (null == registry) {
                registry = new ZookeeperRegistryCenter(new ZookeeperConfiguration(zk, words[0], 1000, 3000, 3));
                registry.init();
            }
            String node = "/" + words[1] + "/servers/" + words[3];
            if ("make".equals(words[2])) {
                registry.persist(node, "");
            } else {
                registry.remove(node);
            }
            Told.line("done", "asked", line);
        }
        System.exit(0); // otherwise threads of the client would go on
    }
}
