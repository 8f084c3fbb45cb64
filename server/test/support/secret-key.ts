export const SECRET_KEY = 'a secret key for tests only: 32+ characters'
