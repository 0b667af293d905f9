package interop;

/** Item is the work on one item of the job. */
final class Item {

    private final int number;

    private final int total;

    private final String task;

    Item(final int number, final int total, final String task) {
        this.number = number;
        this.total = total;
        this.task = task;
    }

    /**
     * Prints its start and its end, and lasts as many milliseconds as the item's parameter says. A line is: word,
     * milliseconds since 1970, item, total, task id.
     */
    void run(final String parameter) {
        tell("start");
        try {
            Thread.sleep(null == parameter || parameter.isEmpty() ? 0 : Long.parseLong(parameter));
        } catch (final InterruptedException ex) {
            tell("stop");
            return;
        }
        tell("end");
    }

    private void tell(final String word) {
        Told.line("%s %d %d %d %s", word, System.currentTimeMillis(), number, total, task);
    }
}
