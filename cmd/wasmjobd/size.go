package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// byteSize is a flag for an amount of memory.
type byteSize int64

// String implements pflag.Value, as Set and Type do. For "" the help names no default.
func (s *byteSize) String() string {
	if *s == 0 {
		return ""
	}
	return sizeText(int64(*s))
}

// Set accepts the sizes that a configuration accepts for limits.memory.
func (s *byteSize) Set(text string) error {
	n, err := parseBytes(text, math.MaxInt64)
	if err != nil {
		return errors.New("write a size, e.g. 64MiB")
	}
	for setting := range job.Settings() {
		if setting.Name == "limits.memory" && (n < setting.Min || n > setting.Max) {
			return errors.New(reason.Of(reason.OutOfRange, text, job.FormatSize(setting.Min), job.FormatSize(setting.Max)).WithHint())
		}
	}
	*s = byteSize(n)
	return nil
}

// parseBytes reads a number of bytes, or of KiB, MiB or GiB. The result is 1 to most.
func parseBytes(text string, most int64) (int64, error) {
	number, unit := text, int64(1)
	for suffix, n := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if before, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = before, n
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 1 || n > most/unit { // n*unit could overflow
		return 0, fmt.Errorf("write a size up to %dGiB, e.g. 64MiB", most>>30)
	}
	return n * unit, nil
}

// Type is what the help shows as the value of the flag.
func (s *byteSize) Type() string { return "size" }

// sizeText formats a size for a person.
func sizeText(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size {
			text := strconv.FormatFloat(float64(n)/float64(u.size), 'f', 1, 64)
			return strings.TrimSuffix(text, ".0") + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}
