package wasmjob

// batchAdd adds an element, in fetch only, and returns its index.
func (f *Fake) batchAdd(element []byte) int32 {
	if f.phase != fetching {
		return answer(ErrWrongPhase)
	}
	f.Batch = append(f.Batch, string(element))
	return int32(len(f.Batch) - 1)
}

// batchCount counts the elements, in process only.
func (f *Fake) batchCount() int32 {
	if f.phase != processing {
		return answer(ErrWrongPhase)
	}
	return int32(len(f.Batch))
}

// batchRead reads an element, in process only.
func (f *Fake) batchRead(index int32, buf []byte) int32 {
	switch {
	case f.phase != processing:
		return answer(ErrWrongPhase)
	case index < 0 || int(index) >= len(f.Batch):
		return answer(ErrInvalid)
	}
	return fill(buf, f.Batch[index])
}

// batchAck sets the outcome of an element, in process only.
func (f *Fake) batchAck(index, outcome int32) int32 {
	switch {
	case f.phase != processing:
		return answer(ErrWrongPhase)
	case index < 0 || int(index) >= len(f.Batch):
		return answer(ErrInvalid)
	}
	if f.Acks == nil {
		f.Acks = map[int]Outcome{}
	}
	f.Acks[int(index)] = Outcome(outcome)
	return 0
}

// shardInstanceCount counts the instances, in a strategy only.
func (f *Fake) shardInstanceCount() int32 {
	if f.phase != sharding {
		return answer(ErrWrongPhase)
	}
	return int32(len(f.Instances))
}

// dealt returns the error of a call about that instance; 0 if the call is valid.
func (f *Fake) dealt(instance int32) HostError {
	switch {
	case f.phase != sharding:
		return ErrWrongPhase
	case instance < 0 || int(instance) >= len(f.Instances):
		return ErrInvalid
	}
	return 0
}

// shardInstanceID reads the id of an instance.
func (f *Fake) shardInstanceID(instance int32, buf []byte) int32 {
	if no := f.dealt(instance); no != 0 {
		return answer(no)
	}
	return fill(buf, f.Instances[instance].ID)
}

// shardInstanceLabel reads a label of an instance's server.
func (f *Fake) shardInstanceLabel(instance int32, key string, buf []byte) int32 {
	if no := f.dealt(instance); no != 0 {
		return answer(no)
	}
	return lookUp(f.Instances[instance].Labels, key, buf)
}

// shardPrev returns the instance that owns the item now.
func (f *Fake) shardPrev(item int32) int32 {
	switch {
	case f.phase != sharding:
		return answer(ErrWrongPhase)
	case item < 0 || int(item) >= f.Total:
		return answer(ErrInvalid)
	case int(item) >= len(f.Owners) || f.Owners[item] < 0:
		return answer(ErrNotFound)
	}
	return int32(f.Owners[item])
}

// shardAssign assigns an item to an instance, each item once.
func (f *Fake) shardAssign(item, instance int32) int32 {
	if no := f.dealt(instance); no != 0 {
		return answer(no)
	}
	if item < 0 || int(item) >= f.Total {
		return answer(ErrInvalid)
	}
	if _, given := f.Assigned[int(item)]; given {
		return answer(ErrConflict)
	}
	if f.Assigned == nil {
		f.Assigned = map[int]int{}
	}
	f.Assigned[int(item)] = int(instance)
	return 0
}
