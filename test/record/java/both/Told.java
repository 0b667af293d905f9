package recorder;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.util.LinkedHashMap;
import java.util.Map;

/** Told is the standard output: one JSON object per line, with a word and the time. */
final class Told {

    private static final Gson GSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

    private static final String[] SLOW = {
        "org.apache.zookeeper.ZooKeeper", "org.apache.zookeeper.ClientCnxn", "org.apache.zookeeper.ClientCnxnSocketNIO",
        "org.apache.curator.framework.imps.CuratorFrameworkImpl", "org.apache.curator.framework.recipes.cache.TreeCache",
        "org.apache.curator.framework.recipes.leader.LeaderLatch", "org.quartz.impl.StdSchedulerFactory", "org.quartz.core.QuartzScheduler",
        "org.quartz.simpl.SimpleThreadPool", "org.quartz.CronExpression", "com.google.common.base.Joiner",
    };

    private Told() {
    }

    /** Prints and flushes one line. Pairs are keys with their values. */
    static void line(final String word, final Object... pairs) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("ev", word);
        all.put("t", System.currentTimeMillis());
        for (int i = 0; i < pairs.length; i += 2) {
            all.put((String) pairs[i], pairs[i + 1]);
        }
        String text = GSON.toJson(all) + "\n";
        synchronized (System.out) {
            System.out.print(text);
            System.out.flush();
        }
    }

    /** Prints "ready" and waits for a line of input. The classes that are slow to load are loaded before. */
    static void ready() throws Exception {
        for (String each : SLOW) {
            Class.forName(each);
        }
        line("ready");
        System.in.read();
    }

    /** Sleeps, to make the work last. */
    static void sleep(final long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (final InterruptedException ex) {
            Thread.currentThread().interrupt();
        }
    }
}
