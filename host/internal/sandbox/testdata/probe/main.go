// Command probe is a guest for the sandbox's tests. The setting "do" selects an action,
// and the result reports its outcome.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
	"github.com/wasmjob/wasmjob/abi/go/simple"
)

func init() { simple.Register(probe) }

func main() {}

func probe(c wasmjob.Context) error {
	what, _ := c.Config("do")
	arg, _ := c.Config("arg")
	switch what {
	case "facts":
		param, has := c.Param()
		deadline, limited := c.Deadline()
		return c.ResultString(fmt.Sprint(c.JobName(), "|", c.TaskID(), "|", c.RunID(), "|", c.Item(), "|", c.Total(), "|", param, has, "|",
			c.JobParam(), "|", c.Instance(), "|", c.Attempt(), "|", c.Fence(), "|", c.Failover(), c.Misfire(), "|",
			c.Scheduled().UnixMilli(), "|", c.Fired().UnixMilli(), "|", deadline.UnixMilli(), limited, "|", len(c.ModuleDigest())))
	case "json":
		return c.Result(c.JSON())
	case "config":
		return c.ResultString(arg)
	case "print":
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
		return errors.New("it \x1b[31mfailed")
	case "panic":
		var m map[string]int
		m["a"] = 1
	case "throw":
		fatal := make([]int, 0)
		go func() { _ = fatal[len(fatal)] }() // a panic that cannot be recovered
		time.Sleep(time.Second)
	case "exit":
		os.Exit(4)
	case "skip":
		return fmt.Errorf("no rows: %w", wasmjob.Skip)
	case "retry":
		return fmt.Errorf("busy: %w", wasmjob.Retry)
	case "code":
		return wasmjob.WithCode(140, errors.New("special"))
	case "clock":
		t := time.Now()
		time.Sleep(time.Minute)
		return c.ResultString(fmt.Sprint(t.UnixMilli(), " ", time.Since(t) >= time.Minute))
	case "now":
		return c.ResultString(fmt.Sprint(time.Now().UnixMilli()))
	case "random":
		b := make([]byte, 16)
		_, err := rand.Read(b)
		return errors.Join(err, c.ResultString(hex.EncodeToString(b)))
	case "env":
		return c.ResultString(strings.Join(os.Environ(), " "))
	case "spin":
		for c.Cancelled() == wasmjob.Continue {
			c.Progress(3, 10)
		}
		return errors.New("stopped: " + c.Cancelled().String())
	case "deaf":
		for i := 0; ; i++ {
			_ = i
		}
	case "sleep":
		time.Sleep(time.Hour)
	case "hog":
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
			all[len(all)-1][0] = byte(len(all))
		}
	case "flood":
		for range 1000 {
			c.Info("again")
		}
	case "large":
		return c.Result(make([]byte, 2<<20))
	default:
		return files(c, what, arg)
	}
	return nil
}
