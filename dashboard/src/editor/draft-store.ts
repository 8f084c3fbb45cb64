const DATABASE = 'sterna'
const STORE = 'drafts'

/** Unsaved work, with the revision of the thing that it changes. */
export type StoredDraft = { values: unknown; revision: string; at: string }

let opened: Promise<IDBDatabase | undefined> | undefined
/** Used where IndexedDB is blocked: then unsaved work survives a change of page, but no reload. */
const memory = new Map<string, StoredDraft>()

function open(): Promise<IDBDatabase | undefined> {
  opened ??= new Promise((resolve) => {
    try {
      const request = indexedDB.open(DATABASE, 1)
      request.onupgradeneeded = () => request.result.createObjectStore(STORE)
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => resolve(undefined)
    } catch {
      resolve(undefined)
    }
  })
  return opened
}

async function run<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | undefined> {
  const database = await open()
  if (!database) return undefined
  return new Promise((resolve) => {
    const request = work(database.transaction(STORE, mode).objectStore(STORE))
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => resolve(undefined)
  })
}

export async function readDraft(key: string): Promise<StoredDraft | undefined> {
  return (await run<StoredDraft | undefined>('readonly', (store) => store.get(key))) ?? memory.get(key)
}

export async function writeDraft(key: string, draft: StoredDraft): Promise<void> {
  memory.set(key, draft)
  await run('readwrite', (store) => store.put(draft, key))
}

export async function deleteDraft(key: string): Promise<void> {
  memory.delete(key)
  await run('readwrite', (store) => store.delete(key))
}
