package recorder;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.util.LinkedHashMap;
import java.util.Map;

/** Told is the standard output: one JSON object per line, with a word and the time. */
final class Told {

    private static final Gson GSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

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

    /** Sleeps, to make the work last. */
    static void sleep(final long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (final InterruptedException ex) {
            Thread.currentThread().interrupt();
        }
    }
}
