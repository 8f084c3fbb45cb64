import { usePreference } from '../../session/preferences.ts'

/** Messages that were opened are remembered up to this number; older ones are far down the list. */
const MAX_REMEMBERED = 200

/** Which messages of the sandbox this user has opened, in this browser. */
export function useOpened(projectId: string) {
  const [opened, setOpened] = usePreference<string[]>(`sandbox-opened.${projectId}`, [])
  return {
    isOpened: (id: string) => opened.includes(id),
    open: (id: string) => !opened.includes(id) && setOpened([id, ...opened].slice(0, MAX_REMEMBERED)),
  }
}

/** When this user last looked at the sandbox, for the badge. */
export const useSeenUntil = (projectId: string) => usePreference(`sandbox-seen.${projectId}`, '')
