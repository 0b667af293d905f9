//! A script in Rust: it reports how many lines and bytes the files of a
//! directory have. Each sharding item reports a part of the files.
//!
//! The directory is the job's first argument, or `/data`:
//!
//! ```toml
//! [jobs.report]
//! kind = "script"
//! args = ["/logs"]
//!
//! [jobs.report.allow]
//! dirs = ["ro:/var/log:/logs"]
//! ```
//!
//! The hash of a file's name says to which item it belongs, so files may come and
//! go without moving others. What the script prints is the result of the run.
//! Files that cannot be read are named on stderr, and fail the run.
//!
//! ```sh
//! cargo build --release --target wasm32-wasip1
//! ```

use std::error::Error;
use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;
use wasmjob::script::Script;

fn main() -> ExitCode {
    match run() {
        Ok(report) => {
            print!("{report}");
            for problem in &report.problems {
                eprintln!("{problem}");
            }
            ExitCode::from(u8::from(!report.problems.is_empty()))
        }
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}

/// Reports on the item's files of the directory that the job names.
fn run() -> Result<Report, Box<dyn Error>> {
    let script = Script::from_env()?;
    let folder = script.args.first().map_or("/data", String::as_str);
    let report = report(Path::new(folder), script.item, script.total);
    Ok(report.map_err(|e| format!("read the directory {folder}: {e}"))?)
}

#[derive(Debug, Default, PartialEq, Eq)]
struct File {
    name: String,
    lines: u64,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Report {
    files: Vec<File>,
    problems: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = File::default();
        for file in &self.files {
            writeln!(f, "{:>10} {:>12} {}", file.lines, file.bytes, file.name)?;
            all.lines += file.lines;
            all.bytes += file.bytes;
        }
        let n = self.files.len();
        writeln!(f, "{:>10} {:>12} in {n} files", all.lines, all.bytes)
    }
}

/// Reports on the files of a folder that belong to the item, sorted by name.
fn report(folder: &Path, item: usize, total: usize) -> io::Result<Report> {
    let mut report = Report::default();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if owner(&name, total) != item || !entry.file_type()?.is_file() {
            continue;
        }
        match count(&entry.path()) {
            Ok((lines, bytes)) => report.files.push(File { name, lines, bytes }),
            Err(e) => report.problems.push(format!("{name}: {e}")),
        }
    }
    report.files.sort_by(|a, b| a.name.cmp(&b.name));
    report.problems.sort();
    Ok(report)
}

/// The numbers of lines and bytes of a file, read piece by piece.
fn count(path: &Path) -> io::Result<(u64, u64)> {
    let mut file = BufReader::new(fs::File::open(path)?);
    let (mut lines, mut bytes) = (0, 0);
    loop {
        let piece = file.fill_buf()?;
        let n = piece.len();
        if n == 0 {
            return Ok((lines, bytes));
        }
        lines += piece.iter().filter(|&&b| b == b'\n').count() as u64;
        bytes += n as u64;
        file.consume(n);
    }
}

/// The item to which a file belongs. The hash is FNV-1a, since it must be the same in
/// every build of the module.
fn owner(name: &str, total: usize) -> usize {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, b| {
        (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash % total.max(1) as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that is gone with the value.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("report-rust-{name}-{}", std::process::id()));
            fs::create_dir_all(path.join("sub")).unwrap();
            for i in 0..20 {
                let text = "line\n".repeat(i) + "end";
                fs::write(path.join(format!("{i}.log")), text).unwrap();
            }
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_items_share_the_files() {
        let folder = Folder::new("share");
        let mut names = Vec::new();
        for item in 0..3 {
            let report = report(&folder.0, item, 3).unwrap();
            assert!(!report.files.is_empty() && report.problems.is_empty());
            names.extend(report.files.into_iter().map(|f| f.name));
        }
        names.sort();
        let mut want: Vec<_> = (0..20).map(|i| format!("{i}.log")).collect();
        want.sort();
        assert_eq!(names, want);
    }

    #[test]
    fn lines_and_bytes_are_counted() {
        let folder = Folder::new("count");
        let report = report(&folder.0, 0, 1).unwrap();
        let last = report.files.iter().find(|f| f.name == "19.log").unwrap();
        assert_eq!((last.lines, last.bytes), (19, 98));
        let text = report.to_string();
        assert_eq!(text.lines().count(), 21);
        assert_eq!(
            text.lines().last(),
            Some("       190         1010 in 20 files")
        );
    }

    #[test]
    fn a_directory_that_is_not_there_fails() {
        assert!(report(Path::new("/no/such/directory"), 0, 1).is_err());
    }

    #[test]
    fn owners_never_change() {
        assert_eq!(["", "a", "b.log"].map(|n| owner(n, 1000)), [37, 996, 821]);
    }
}
