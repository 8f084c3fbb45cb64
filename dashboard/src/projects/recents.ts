/** Pages that the palette offers first. Kept for this tab only: the labels are addresses of contacts. */
export type Recent = { path: string; label: string; kind: string }

const MAX_RECENTS = 5
const keyOf = (projectId: string) => `sterna.recents.${projectId}`

export function listRecents(projectId: string): Recent[] {
  try {
    return JSON.parse(sessionStorage.getItem(keyOf(projectId)) ?? '[]') as Recent[] // written below
  } catch {
    return []
  }
}

export function rememberRecent(projectId: string, recent: Recent) {
  const others = listRecents(projectId).filter(({ path }) => path !== recent.path)
  try {
    sessionStorage.setItem(keyOf(projectId), JSON.stringify([recent, ...others].slice(0, MAX_RECENTS)))
  } catch {
    // Storage is blocked: the palette starts with its pages.
  }
}
