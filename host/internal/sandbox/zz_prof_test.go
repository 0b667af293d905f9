package sandbox
import ("testing";"time";"crypto/sha256")
func BenchmarkZZ(b *testing.B){
	wasm := benchProbe(b)
	dir := b.TempDir()
	e0,_ := New(Options{CacheDir:dir}); m0,_ := e0.Load(b.Context(), wasm); m0.Close(); e0.Close()
	mins := map[string]time.Duration{}
	lap := func(name string, t *time.Time){ d:=time.Since(*t); if m,ok:=mins[name]; !ok||d<m {mins[name]=d}; *t=time.Now() }
	for b.Loop(){
		t:=time.Now()
		e,err := New(Options{CacheDir:dir}); if err!=nil{b.Fatal(err)}
		lap("new",&t)
		_ = sha256.Sum256(wasm)
		lap("sha",&t)
		a,_ := decode(wasm, 64<<20)
		lap("decode",&t)
		_ = a.admit(e.offered)
		lap("admit",&t)
		_ = a.report(wasm)
		lap("report",&t)
		out,_ := metered(wasm)
		lap("meter",&t)
		c,_ := e.tryCompile(out.Wasm)
		lap("compile",&t)
		c.Close(b.Context())
		_ = sealNew(e.dir)
		lap("seal",&t)
		m,err := e.Load(b.Context(), wasm); if err!=nil{b.Fatal(err)}
		lap("all",&t)
		m.Close(); e.Close()
	}
	for n,d := range mins { b.ReportMetric(float64(d)/1e6,"ms_"+n) }
}
