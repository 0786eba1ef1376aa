//! The signals that a caller may send to a running tool, by name. The numbers are Linux's on x86_64 and arm64.

/// Name and number of every signal that `/signal` takes.
pub const SIGNALS: &[(&str, i32)] = &[
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("TERM", 15),
    ("CONT", 18),
    ("TSTP", 20),
    ("WINCH", 28),
];

/// The number for a name, in any case, without `SIG`.
pub fn number(name: &str) -> Option<i32> {
    SIGNALS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, number)| number)
}

/// The name for a number.
pub fn name(number: i32) -> Option<&'static str> {
    SIGNALS.iter().find(|&&(_, known)| known == number).map(|&(name, _)| name)
}
