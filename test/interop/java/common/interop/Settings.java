package interop;

import java.util.HashMap;
import java.util.Map;

/** Settings are the arguments, each in the form key=value. */
public final class Settings {

    private final Map<String, String> values = new HashMap<>();

    public Settings(final String[] args) {
        for (String each : args) {
            int at = each.indexOf('=');
            if (at < 0) {
                throw new IllegalArgumentException("no key=value: " + each);
            }
            values.put(each.substring(0, at), each.substring(at + 1));
        }
    }

    public String text(final String key, final String otherwise) {
        return values.getOrDefault(key, otherwise);
    }

    public String text(final String key) {
        if (!values.containsKey(key)) {
            throw new IllegalArgumentException("no " + key);
        }
        return values.get(key);
    }

    public int number(final String key, final int otherwise) {
        return Integer.parseInt(text(key, Integer.toString(otherwise)));
    }

    public boolean is(final String key, final boolean otherwise) {
        return Boolean.parseBoolean(text(key, Boolean.toString(otherwise)));
    }
}
