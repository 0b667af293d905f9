package main

import (
	"errors"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
)

// shard is the strategy: it assigns the items in the way that the job's parameter names.
// Some ways are faulty.
func shard(c wasmjob.Context, d wasmjob.Deal) error {
	switch name := c.JobParam(); name {
	case "modulo":
		return each(d, d.Items(), func(item int) int { return item % d.Instances() })
	case "heaviest":
		to, err := heaviest(d)
		if err != nil {
			return err
		}
		return each(d, d.Items(), func(int) int { return to })
	case "sticky":
		return each(d, d.Items(), func(item int) int {
			owner, _ := d.Owner(item)
			return owner
		})
	case "partial":
		return each(d, d.Items()-1, func(int) int { return 0 })
	case "twice":
		err := errors.Join(d.Assign(0, 0), d.Assign(0, 0))
		if err == nil {
			return nil
		}
		return errors.New(word(err))
	case "panic":
		panic("it broke")
	default:
		return unknown(name)
	}
}

// each assigns the first items, each to the instance that to returns.
func each(d wasmjob.Deal, items int, to func(item int) int) error {
	for item := range items {
		if err := d.Assign(item, to(item)); err != nil {
			return err
		}
	}
	return nil
}

// heaviest returns the instance whose server has the largest label weight; without the
// label it is 1.
func heaviest(d wasmjob.Deal) (int, error) {
	best, most := 0, 0
	for i := range d.Instances() {
		weight := 1
		if label, ok := d.Label(i, "weight"); ok {
			var err error
			if weight, err = number(label); err != nil {
				return 0, err
			}
		}
		if weight > most {
			best, most = i, weight
		}
	}
	return best, nil
}
