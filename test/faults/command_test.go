package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// commands is a file for servers that also have a job of the operating system. Its
// commands are this test binary with other arguments.
const (
	commands   = "testdata/commands.toml"
	commandJob = "command"
)

// asCommand is the first argument of such a command. The file of the evidence and the
// context of the run follow, and one more argument in the process that it leaves behind.
const asCommand = "command"

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == asCommand {
		os.Exit(command(os.Args[2], os.Args[3], len(os.Args) > 4))
	}
	os.Exit(m.Run())
}

// command reports in the same words as guests: see guest/main.go. It leaves a process
// behind that has left its session and never ends by itself. That process reports for the
// same run that it is alive.
func command(file, about string, left bool) (exit int) {
	e, err := newReporter(file, about)
	if err != nil {
		return complain(err)
	}
	if left {
		signal.Ignore(syscall.SIGTERM)
		return complain(e.beats(1<<63 - 1))
	}
	number, rest, _ := strings.Cut(os.Getenv("WASMJOB_ITEM_PARAM"), " ")
	ms, err := strconv.Atoi(number)
	if err != nil {
		return complain(err)
	}
	asked := make(chan os.Signal, 1)
	if signal.Ignore(syscall.SIGTERM); rest != "deaf" {
		signal.Notify(asked, syscall.SIGTERM)
	}
	if err := e.reportSynced("start"); err != nil {
		return complain(err)
	}
	other := exec.Command(os.Args[0], append(os.Args[1:], "left")...)
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		return complain(err)
	}
	go func() {
		<-asked
		_ = e.reportSynced("stop") // it ends in any case
		os.Exit(1)
	}()
	if err := e.beats(time.Duration(ms) * time.Millisecond); err != nil {
		return complain(err)
	}
	return complain(e.reportSynced("end"))
}

// complain returns the exit code of a failed command, whose server logs the error.
func complain(err error) (exit int) {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// reporter appends lines about one attempt to the evidence.
type reporter struct {
	file     *os.File
	instance string
}

func newReporter(file, about string) (*reporter, error) {
	var run struct{ TaskID string }
	if err := json.Unmarshal([]byte(about), &run); err != nil {
		return nil, fmt.Errorf("read the context: %w", err)
	}
	_, instance, _ := strings.Cut(run.TaskID, "@-@READY@-@")
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &reporter{f, instance}, nil
}

func (e *reporter) report(word string) error {
	_, err := fmt.Fprintf(e.file, "%s %s %s %s %s %d\n", word, os.Getenv("WASMJOB_RUN_ID"), os.Getenv("WASMJOB_ATTEMPT"),
		os.Getenv("WASMJOB_FENCE"), e.instance, time.Now().UnixMilli())
	return err
}

// reportSynced appends a line and waits until it is on disk.
func (e *reporter) reportSynced(word string) error {
	if err := e.report(word); err != nil {
		return err
	}
	return e.file.Sync()
}

// beats reports signs of life for some time.
func (e *reporter) beats(lasts time.Duration) error {
	const beat = 50 * time.Millisecond
	next := time.NewTicker(beat)
	defer next.Stop()
	for ; lasts > 0; lasts -= beat {
		<-next.C
		if err := e.report("beat"); err != nil {
			return err
		}
	}
	return nil
}
