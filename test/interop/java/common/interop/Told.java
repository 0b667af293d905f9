package interop;

/** Told is the standard output: the evidence, one line for each thing that happened. */
final class Told {

    private Told() {
    }

    /** Says one line, whole, and does not keep it back. */
    static void line(final String format, final Object... args) {
        String text = String.format(format, args) + "\n";
        synchronized (System.out) {
            System.out.print(text);
            System.out.flush();
        }
    }
}
