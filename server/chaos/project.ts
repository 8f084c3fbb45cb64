/** Of someone who has just signed up. */
export async function newProject(url: string, owner = 'chaos') {
  const post = (path: string, body: object, cookie = '') =>
    fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json', cookie }, body: JSON.stringify(body) })
  const signedUp = await post('/auth/signup', { email: `${owner}@example.com`, password: 'only for this run' })
  const cookie = signedUp.headers.get('set-cookie')!.split(';')[0]!
  return (await (await post('/users/@me/projects', { name: 'Chaos' }, cookie)).json()) as { id: string; public: string; secret: string }
}
