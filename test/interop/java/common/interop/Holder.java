package interop;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.retry.RetryOneTime;

/** Holder takes a latch by the library's own recipe, and does not give it back. */
public final class Holder {

    private Holder() {
    }

    /** Prints "joined" when it holds the latch, and ends when its input does. */
    public static void main(final String[] args) throws Exception {
        Settings s = new Settings(args);
        CuratorFramework client = CuratorFrameworkFactory.newClient(s.text("zk"), s.number("session", 3000), 3000, new RetryOneTime(1000));
        client.start();
        LeaderLatch latch = new LeaderLatch(client, s.text("latch"));
        latch.start();
        latch.await();
        Told.line("joined %d 0 0 %s", System.currentTimeMillis(), s.text("latch"));
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }
}
