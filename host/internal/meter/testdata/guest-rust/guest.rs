// Several kinds of work for the benchmarks of the meter.
#[no_mangle]
pub extern "C" fn r#loop(n: u32) -> u32 {
    let mut h: u32 = 2166136261;
    for i in 0..n {
        h = (h ^ (i & 255)).wrapping_mul(16777619);
        if h & 1024 != 0 {
            h = h.wrapping_add(i);
        }
    }
    h
}

#[no_mangle]
pub extern "C" fn fib(n: u32) -> u32 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

struct Text<'a> {
    all: &'a [u8],
    at: usize,
    sum: u64,
}

impl Text<'_> {
    fn next(&mut self) -> u8 {
        while self.at < self.all.len() && self.all[self.at] <= b' ' {
            self.at += 1;
        }
        self.at += 1;
        self.all[self.at - 1]
    }

    fn string(&mut self) {
        while self.all[self.at] != b'"' {
            if self.all[self.at] == b'\\' {
                self.at += 1;
            }
            self.sum = self.sum.wrapping_mul(31).wrapping_add(u64::from(self.all[self.at]));
            self.at += 1;
        }
        self.at += 1;
    }

    fn number(&mut self) {
        let mut n = 0u64;
        self.at -= 1;
        while self.all[self.at].is_ascii_digit() {
            n = n.wrapping_mul(10).wrapping_add(u64::from(self.all[self.at] - b'0'));
            self.at += 1;
        }
        self.sum = self.sum.wrapping_add(n);
    }

    fn value(&mut self) {
        match self.next() {
            b'{' => loop {
                self.next();
                self.string();
                self.next();
                self.value();
                if self.next() == b'}' {
                    return;
                }
            },
            b'[' => loop {
                self.value();
                if self.next() == b']' {
                    return;
                }
            },
            b'"' => self.string(),
            _ => self.number(),
        }
    }
}

#[no_mangle]
pub extern "C" fn json(n: u32) -> u32 {
    let text = format!("{{\"orders\": [{}]}}", (0..20).map(|i| format!(
        "{{\"id\": {i}, \"name\": \"order \\\"{i}\\\"\", \"cents\": {}, \"tags\": [\"new\", \"paid\"], \"ship\": {{\"city\": \"Ulm\", \"zip\": 89073}}}}",
        i * 7919
    )).collect::<Vec<_>>().join(", "));
    let mut sum = 0u64;
    for _ in 0..n {
        let mut t = Text { all: text.as_bytes(), at: 0, sum };
        t.value();
        sum = t.sum;
    }
    sum as u32
}

#[no_mangle]
pub extern "C" fn bytes(n: u32) -> u32 {
    let mut from = vec![0u8; 4096];
    let mut to = vec![0u8; 4096];
    let mut h = 0u32;
    for i in 0..n as usize {
        to[..1 + i % 64].copy_from_slice(&from[..1 + i % 64]);
        from[..i % 512].fill(0);
        from[i % 4096] = i as u8;
        h = h.wrapping_add(u32::from(to[i % 64]));
    }
    h
}
