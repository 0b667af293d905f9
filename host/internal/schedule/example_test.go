package schedule_test

import (
	"fmt"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/schedule"
)

func ExampleParse() {
	loc, err := schedule.LoadLocation("America/New_York")
	if err != nil {
		fmt.Println(err)
		return
	}
	payday, err := schedule.Parse("0 0 9 LW * ?", loc)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, loc)
	for range 3 {
		at = payday.Next(at)
		fmt.Println(at.Format("Mon 2 January 15:04 MST"))
	}
	_, err = schedule.Parse("0 0 9 ? * 0", loc)
	fmt.Println(err)
	// Output:
	// Fri 30 January 09:00 EST
	// Fri 27 February 09:00 EST
	// Tue 31 March 09:00 EDT
	// day-of-week 0 is not Quartz (1=SUN..7=SAT); write 1 or SUN for Sunday, or set dialect = "unix"
}
