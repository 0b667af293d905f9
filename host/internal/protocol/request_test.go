package protocol

import "testing"

// An old view may decide a request only if the transaction notices what the view lacks.
func TestRefusedIfOld(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*View)
		ask    Ask
		want   bool
	}{
		"a trigger":                   {func(*View) {}, AskTrigger{}, true},
		"another request":             {func(*View) {}, AskItem{Item: 0}, false},
		"nothing is assigned":         {func(v *View) { v.Assignment.Exists = false }, AskTrigger{}, false},
		"nobody leads":                {func(v *View) { v.Leader = "" }, AskTrigger{}, false},
		"a foreign member leads":      {func(v *View) { v.Leader = "z" }, AskTrigger{}, false},
		"its assignment is adopted":   {func(v *View) { v.Leader, v.Sealed = "z", true }, AskTrigger{}, true},
		"a request waits":             {func(v *View) { v.Instances[1].Request = 7 }, AskTrigger{}, false},
		"an owner is not registered":  {func(v *View) { v.Instances = v.Instances[:1] }, AskTrigger{}, false},
		"a foreign member without it": {func(v *View) { v.Instances = append(v.Instances, Instance{ID: "z"}) }, AskTrigger{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &View{
				Instances: []Instance{{ID: "a"}, {ID: "b"}}, Members: []Member{{ID: "a"}, {ID: "b"}}, Leader: "a",
				Assignment: Assignment{Exists: true, Members: []ID{"b", "a"}},
			}
			if tt.change(v); RefusedIfOld(v, tt.ask) != tt.want {
				t.Errorf("got %v", !tt.want)
			}
		})
	}
}
