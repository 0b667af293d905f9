package schedule

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	LastYear = 2126 // the value with which the answers were recorded
	os.Exit(m.Run())
}
