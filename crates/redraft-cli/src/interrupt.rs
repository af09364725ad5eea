//! Ctrl+C, and the polite wish of a system that shuts down: the first one asks to stop, the second one does not wait.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::live::screen::show_cursor;
use crate::trouble::Exit;

/// Tells when somebody wants to stop.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    asked: Arc<Notify>,
}

impl Interrupt {
    /// Listens from now on.
    pub(crate) fn listen() -> Self {
        let asked = Arc::new(Notify::new());
        let bell = Arc::clone(&asked);
        tokio::spawn(async move {
            if !signalled().await {
                return;
            }
            bell.notify_one();
            if signalled().await {
                show_cursor();
                std::process::exit(i32::from(Exit::Interrupted as u8));
            }
        });
        Self { asked }
    }

    /// Waits until somebody wants to stop.
    pub(crate) async fn asked(&self) {
        self.asked.notified().await;
    }
}

/// Waits for a signal; says whether one can come at all.
async fn signalled() -> bool {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            return tokio::select! {
                pressed = tokio::signal::ctrl_c() => pressed.is_ok(),
                came = terminate.recv() => came.is_some(),
            };
        }
    }
    tokio::signal::ctrl_c().await.is_ok()
}
