const KEY = 'project'

export function rememberProject(id: string) {
  try {
    localStorage.setItem(KEY, id)
  } catch {
    // Storage is blocked: the first project opens instead.
  }
}

export function lastOpened(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}
