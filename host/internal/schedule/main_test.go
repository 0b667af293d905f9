package schedule

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	LastYear = 2126 // what the recorded answers were computed with
	os.Exit(m.Run())
}
