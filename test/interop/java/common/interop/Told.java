package interop;

/** Told is the standard output: the evidence, one line for each event. */
final class Told {

    private Told() {
    }

    /** Prints and flushes one line. */
    static void line(final String format, final Object... args) {
        String text = String.format(format, args) + "\n";
        synchronized (System.out) {
            System.out.print(text);
            System.out.flush();
        }
    }
}
