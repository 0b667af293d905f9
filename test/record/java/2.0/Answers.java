package recorder;

import com.dangdang.ddframe.job.lite.internal.config.LiteJobConfigurationGsonFactory;
import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** Answers prints how the library reads configuration texts: what it would write after reading one. */
public final class Answers {

    private Answers() {
    }

    /** Each line of the input is a text, encoded as JSON. */
    public static void main(final String[] args) throws IOException {
        Gson gson = new Gson();
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); null != line; line = in.readLine()) {
            Map<String, String> answer = new LinkedHashMap<>();
            String text = gson.fromJson(line, String.class);
            answer.put("s", text);
            try {
                answer.put("json", LiteJobConfigurationGsonFactory.toJson(LiteJobConfigurationGsonFactory.fromJson(text)));
            } catch (final RuntimeException ex) {
                answer.put("error", ex.getClass().getSimpleName());
            }
            out.println(gson.toJson(answer));
        }
    }
}
